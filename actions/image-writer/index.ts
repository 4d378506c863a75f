export type * from './interface.ts';
export { writeImage } from './write-image.ts';
