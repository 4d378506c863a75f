/** One thing that a document asks for. */
export interface ConformanceItem {
  id: number;
  /** What is asked, in our words. */
  says: string;
  state: 'done' | 'open' | 'not-applicable';
  /** The tests that fail without it; of an open item, those of the part that is there. */
  tests: string[];
  /** Of an open item: what is missing. */
  remark?: string;
}

/** One of the five documents that Kindling began with, item by item. */
export interface ConformanceDocument {
  title: string;
  items: ConformanceItem[];
}
