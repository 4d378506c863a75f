import { create, type DescFile, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type Server, type ServerDuplexStream, status } from '@grpc/grpc-js';
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../protocol/generated/grpc-reflection_pb.js';
import { serviceDefinition } from '../../protocol/grpc-service.ts';

/**
 * gRPC server reflection, v1 and v1alpha. `proto.WorkflowService` exists in two dialects but can be described once only:
 * the first file in the list that knows a symbol wins.
 */
export function addReflectionService(server: Server, files: readonly DescFile[]): void {
  const definition = serviceDefinition(ServerReflection);
  const alpha = {
    serverReflectionInfo: {
      ...definition.serverReflectionInfo,
      path: '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
    },
  };
  const serverReflectionInfo = (
    call: ServerDuplexStream<ServerReflectionRequest, ServerReflectionResponse>,
  ): void => {
    call.on('data', (request: ServerReflectionRequest) => {
      call.write(
        create(ServerReflectionResponseSchema, {
          validHost: request.host,
          originalRequest: request,
          messageResponse: answer(request, files),
        }),
      );
    });
    call.on('end', () => call.end());
  };
  server.addService(definition, { serverReflectionInfo });
  server.addService(alpha, { serverReflectionInfo });
}

type Answer = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

function answer(request: ServerReflectionRequest, files: readonly DescFile[]): Answer {
  const query = request.messageRequest;
  switch (query.case) {
    case 'listServices': {
      const names = new Set(
        files.flatMap(({ proto }) => proto.service.map(({ name }) => `${proto.package}.${name}`)),
      );
      const service = [...names, 'grpc.reflection.v1alpha.ServerReflection'].sort().map((name) => ({ name }));
      return { case: 'listServicesResponse', value: { service } };
    }
    case 'fileByFilename':
      return fileAnswer(
        allFiles(files).find(({ proto }) => proto.name === query.value),
        query.value,
      );
    case 'fileContainingSymbol':
      return fileAnswer(
        files.find((file) => symbolsOf(file).has(query.value)),
        query.value,
      );
    case 'allExtensionNumbersOfType':
    case 'fileContainingExtension':
      return notFound('there are no extensions');
    default:
      return {
        case: 'errorResponse',
        value: { errorCode: status.INVALID_ARGUMENT, errorMessage: 'empty request' },
      };
  }
}

function fileAnswer(file: DescFile | undefined, wanted: string): Answer {
  if (!file) return notFound(`${wanted} not found`);
  const fileDescriptorProto = allFiles([file]).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function notFound(errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode: status.NOT_FOUND, errorMessage } };
}

/** The files and everything they import, each once. */
function allFiles(files: readonly DescFile[]): DescFile[] {
  return [...new Set(files.flatMap((file) => [file, ...allFiles(file.dependencies)]))];
}

function symbolsOf({ proto }: DescFile): Set<string> {
  const names = [
    ...proto.service.flatMap(({ name, method }) => [name, ...method.map((each) => `${name}.${each.name}`)]),
    ...proto.messageType.map(({ name }) => name),
    ...proto.enumType.map(({ name }) => name),
  ];
  return new Set(names.map((name) => `${proto.package}.${name}`));
}
