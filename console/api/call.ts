import { currentToken, signOut } from './session.ts';

/** A refusal of the server (application/problem+json), or its absence. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string;

  constructor(status: number, code: string, message: string, hint: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface CallOptions {
  json?: unknown;
  /** A file as it is, instead of JSON. */
  file?: { type: 'text/csv'; content: Blob };
  signal?: AbortSignal;
}

/** One call of the API. The types of answers are promises of the server's schemas; nothing here looks at them again. */
export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  const { json, file, signal } = options;
  const body = json === undefined ? file?.content : JSON.stringify(json);
  const type = file?.type ?? 'application/json';
  const response = await reach(path, {
    method,
    headers: { ...authorization(), ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body }),
    ...(signal ? { signal } : {}),
  });
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** An answer that is read piece by piece. */
export function openStream(path: string, signal: AbortSignal): Promise<Response> {
  return reach(path, { headers: { ...authorization(), accept: 'text/event-stream' }, signal });
}

/** Hands a file of the server to the browser, which saves it. A plain link would not carry the token. */
export async function download(path: string, name: string): Promise<void> {
  const response = await reach(path, { headers: authorization() });
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...init, cache: 'no-store', credentials: 'omit' });
  } catch (cause) {
    if (init.signal?.aborted) throw cause;
    throw new Problem(0, '', 'The server does not answer.', 'Is "kindling serve" running?');
  }
  if (response.ok) return response;
  const problem = await readProblem(response);
  if (response.status === 401) signOut(currentToken() === undefined ? '' : problem.message);
  throw problem;
}

async function readProblem(response: Response): Promise<Problem> {
  const said = (await response.json().catch(() => ({}))) as Partial<
    Record<'title' | 'code' | 'hint', string>
  >;
  const { title = `The server answers ${response.status}.`, code = '', hint = '' } = said;
  return new Problem(response.status, code, title, hint);
}

function authorization(): Record<string, string> {
  const token = currentToken();
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
