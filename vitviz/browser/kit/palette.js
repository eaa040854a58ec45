// The colour roles of vitviz/plots/theme.py, for canvases; tests/browser/test_kit.py compares both.

export const PALETTE = {
  SEQUENTIAL: ['#440154', '#46327e', '#365c8d', '#277f8e', '#1fa187', '#4ac16d', '#a0da39', '#fde725'],
  DIVERGING: {
    light: ['#1B4F8F', '#5B93C7', '#B7D3E8', '#FBFAF7', '#F6CFA1', '#E0913A', '#A6540B'],
    dark: ['#B7D8F5', '#5B9BD9', '#2A527D', '#10151C', '#6E4013', '#D08232', '#FBCB8F'],
  },
  HEADS: ['#56B4E9', '#009E73', '#CC79A7', '#0072B2', '#D55E00', '#B8A800', '#7F7F7F'],
  VARIANTS: ['#7F7F7F', '#56B4E9', '#009E73', '#CC79A7', '#0072B2', '#D55E00', '#B8A800', '#7A5BC8'],
  FAMILIES: { cnn: '#7F7F7F', hybrid: '#56B4E9', swin: '#009E73', vit: '#0072B2', deit: '#CC79A7' },
  light: {
    paper: '#FBFAF7',
    panel: '#F1EFEA',
    ink: '#0F151C',
    muted: '#4F5A68',
    line: '#DAD7D0',
    primary: '#2457A6',
    query: '#D9480F',
  },
  dark: {
    paper: '#10151C',
    panel: '#19212B',
    ink: '#E7EBF1',
    muted: '#9DA9B8',
    line: '#2C3643',
    primary: '#6EA3F0',
    query: '#FF922B',
  },
};
