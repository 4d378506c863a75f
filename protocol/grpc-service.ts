import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  type CallOptions,
  type Client,
  type ClientDuplexStream,
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  type MethodDefinition,
} from '@grpc/grpc-js';

/** A generated service, seen only as its methods. */
interface Service {
  readonly typeName: string;
  readonly method: Record<string, DescMethod>;
}

export type Kind<M extends DescMethod, K extends DescMethod['methodKind']> = M & { methodKind: K };
type Request<M extends DescMethod> = MessageShape<M['input']>;
export type Response<M extends DescMethod> = MessageShape<M['output']>;

/** The grpc-js handler for one method of a generated service. */
export type MethodHandler<M extends DescMethod> = M['methodKind'] extends 'unary'
  ? handleUnaryCall<Request<M>, Response<M>>
  : M['methodKind'] extends 'server_streaming'
    ? handleServerStreamingCall<Request<M>, Response<M>>
    : M['methodKind'] extends 'client_streaming'
      ? handleClientStreamingCall<Request<M>, Response<M>>
      : handleBidiStreamingCall<Request<M>, Response<M>>;

/** What a server must provide for a generated service: `satisfies ServiceHandlers<typeof X>`, then `server.addService`. */
export type ServiceHandlers<S extends Service> = { [K in keyof S['method']]: MethodHandler<S['method'][K]> };

export type ServiceDefinitionOf<S extends Service> = {
  [K in keyof S['method']]: MethodDefinition<Request<S['method'][K]>, Response<S['method'][K]>>;
};

/** Turns one generated method into what grpc-js needs to call it or to serve it. */
export function methodDefinition<M extends DescMethod>(method: M): MethodDefinition<Request<M>, Response<M>> {
  return {
    path: methodPath(method),
    requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
    responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
    ...codec<'request', M['input']>('request', method.input),
    ...codec<'response', M['output']>('response', method.output),
    originalName: method.localName,
  };
}

/** Turns a generated service into a grpc-js service definition, for `server.addService(definition, handlers)`. */
export function serviceDefinition<S extends Service>(service: S): ServiceDefinitionOf<S> {
  const entries = Object.entries(service.method).map(([name, method]) => [name, methodDefinition(method)]);
  return Object.fromEntries(entries) as ServiceDefinitionOf<S>;
}

/** `/package.Service/Method` */
export function methodPath(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

export interface CallSettings {
  /** Sent as gRPC metadata. */
  headers?: Record<string, string>;
  /** From now; none by default. */
  deadlineMs?: number;
  signal?: AbortSignal | undefined;
  /** Told what the server sent before its first message. */
  onHeaders?: (headers: Metadata) => void;
}

/** Calls a unary method; rejects with grpc-js' ServiceError. */
export function callUnary<M extends DescMethod>(
  client: Client,
  method: Kind<M, 'unary'>,
  request: MessageInitShape<M['input']>,
  settings: CallSettings = {},
): Promise<Response<M>> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition<M>(method);
  const { promise, resolve, reject } = Promise.withResolvers<Response<M>>();
  const call = client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    create(method.input as M['input'], request),
    metadataOf(settings),
    optionsOf(settings),
    (error, response) => (error || response === undefined ? reject(error) : resolve(response)),
  );
  cancelOnAbort(call, settings.signal);
  return promise;
}

/** Calls a server-streaming method and gives all messages once the server has ended; rejects with grpc-js' ServiceError. */
export async function collectServerStream<M extends DescMethod>(
  client: Client,
  method: Kind<M, 'server_streaming'>,
  request: MessageInitShape<M['input']>,
  settings: CallSettings = {},
): Promise<Response<M>[]> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition<M>(method);
  const call = client.makeServerStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    create(method.input as M['input'], request),
    metadataOf(settings),
    optionsOf(settings),
  );
  cancelOnAbort(call, settings.signal);
  if (settings.onHeaders) call.once('metadata', settings.onHeaders);
  const messages: Response<M>[] = [];
  for await (const message of call) messages.push(message as Response<M>);
  return messages;
}

/** Opens a stream in both directions. */
export function openBidiStream<M extends DescMethod>(
  client: Client,
  method: Kind<M, 'bidi_streaming'>,
  settings: CallSettings = {},
): ClientDuplexStream<Request<M>, Response<M>> {
  const { path, requestSerialize, responseDeserialize } = methodDefinition<M>(method);
  const call = client.makeBidiStreamRequest(
    path,
    requestSerialize,
    responseDeserialize,
    metadataOf(settings),
    optionsOf(settings),
  );
  cancelOnAbort(call, settings.signal);
  return call;
}

type Codec<Side extends string, D extends DescMessage> = {
  [K in `${Side}Serialize`]: (message: MessageShape<D>) => Buffer;
} & { [K in `${Side}Deserialize`]: (bytes: Buffer) => MessageShape<D> };

function codec<Side extends string, D extends DescMessage>(side: Side, schema: D): Codec<Side, D> {
  return {
    [`${side}Serialize`]: (message: MessageShape<D>) => Buffer.from(toBinary(schema, message)),
    [`${side}Deserialize`]: (bytes: Buffer) => fromBinary(schema, bytes),
  } as Codec<Side, D>;
}

function metadataOf({ headers = {} }: CallSettings): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

function optionsOf({ deadlineMs }: CallSettings): CallOptions {
  return deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
}

function cancelOnAbort(
  call: { cancel: () => void; on: (event: 'status', then: () => void) => unknown },
  signal?: AbortSignal,
): void {
  if (!signal) return;
  const cancel = () => call.cancel();
  if (signal.aborted) cancel();
  signal.addEventListener('abort', cancel, { once: true });
  call.on('status', () => signal.removeEventListener('abort', cancel));
}
