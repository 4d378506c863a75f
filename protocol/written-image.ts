/** The field of a log line by which an action tells the server which image it has written. */
export const WRITTEN_IMAGE_FIELD = 'writtenImage';

export interface WrittenImageField {
  [WRITTEN_IMAGE_FIELD]: { sha256?: string; manifestRoot?: string; bytes: number };
}
