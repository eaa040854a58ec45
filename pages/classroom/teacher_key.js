// Hand the teacher's key to the page, once; the link's document left it in the tab's storage.

const STORAGE_KEY = 'vitviz.lead';

export default function teacherKey({ trigger }) {
  return () => {
    const key = sessionStorage.getItem(STORAGE_KEY);
    sessionStorage.removeItem(STORAGE_KEY);
    if (key) trigger('open', key);
  };
}
