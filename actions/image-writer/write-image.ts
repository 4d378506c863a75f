import { KindlingError } from '../../protocol/error.ts';
import type { WriteImage } from './interface.ts';

export const writeImage: WriteImage = async (request) => {
  throw new KindlingError('KND_UNEXPECTED', `the image writer cannot write ${request.sources[0]} yet`);
};
