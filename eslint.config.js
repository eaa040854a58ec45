import js from '@eslint/js';
import globals from 'globals';

export default [
  js.configs.recommended,
  {
    files: ['{pages,vitviz}/**/*.js'],
    languageOptions: { ecmaVersion: 2023, sourceType: 'module', globals: globals.browser },
    rules: {
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'one-var': ['error', 'never'],
      'max-lines': ['error', 400],
      'max-lines-per-function': ['error', { max: 40, skipComments: true, skipBlankLines: true }],
      'no-implicit-globals': 'error',
      'no-restricted-properties': [
        'error',
        { property: 'innerHTML', message: 'Text is set as text: el(), textContent.' },
        { property: 'outerHTML', message: 'Text is set as text: el(), textContent.' },
        { property: 'insertAdjacentHTML', message: 'Text is set as text: el(), textContent.' },
      ],
      'no-restricted-globals': ['error', { name: 'event', message: 'Take the event as an argument.' }],
    },
  },
];
