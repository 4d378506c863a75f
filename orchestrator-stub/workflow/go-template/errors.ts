/** A function of a template gave an error or panicked; the renderer says where. */
export class CallError extends Error {}

export function fail(message: string): never {
  throw new CallError(message);
}
