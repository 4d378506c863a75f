import { createHash } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';

export interface TestLayer {
  [path: string]:
    | string
    | { content?: string; mode?: number; type?: 'directory' | 'symlink' | 'file'; linkname?: string };
}

export async function tarOf(layer: TestLayer): Promise<Buffer> {
  const archive = pack();
  for (const [name, entry] of Object.entries(layer)) {
    const { content = '', ...header } = typeof entry === 'string' ? { content: entry } : entry;
    archive.entry(
      {
        name,
        mode: 0o644,
        ...header,
        ...(header.type && header.type !== 'file' ? {} : { size: Buffer.byteLength(content) }),
      },
      content,
    );
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const digestOf = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A registry on a port of its own that wants a token, serves one image through an index, and redirects blobs, as real ones do. */
export async function testRegistry(options: {
  layers: (Buffer | TestLayer)[];
  config?: object;
  spoilBlobs?: boolean;
  /** The first download of a layer stops in its middle and stays open. */
  stallsOnce?: boolean;
  /** Downloads of layers end in their middle. */
  cutsBlobs?: boolean;
  password?: string;
  /** Wants user and password themselves, and gives no token. */
  isBasic?: boolean;
  /** Where it says its tokens are; by default its own address. */
  realm?: string;
  /** HTTPS with this certificate, reached by this address. */
  tls?: { key: string; cert: string; address: string };
}) {
  const scheme = options.tls ? 'https' : 'http';
  const blobs = new Map<string, Buffer>();
  const add = (bytes: Buffer, mediaType: string) => {
    blobs.set(digestOf(bytes), bytes);
    return { mediaType, digest: digestOf(bytes), size: bytes.length };
  };
  const layers = [];
  for (const layer of options.layers) {
    const bytes = Buffer.isBuffer(layer) ? layer : gzipSync(await tarOf(layer));
    layers.push(add(bytes, 'application/vnd.oci.image.layer.v1.tar+gzip'));
  }
  const config = add(
    Buffer.from(JSON.stringify({ config: options.config ?? {} })),
    'application/vnd.oci.image.config.v1+json',
  );
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, config, layers }));
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const index = Buffer.from(
    JSON.stringify({
      manifests: [
        {
          mediaType: 'm',
          digest: digestOf(manifest),
          size: manifest.length,
          platform: { os: 'linux', architecture },
        },
      ],
    }),
  );
  const manifests = new Map([
    ['latest', index],
    [digestOf(manifest), manifest],
  ]);

  /** What came with the calls, for tests that want nothing to come. */
  const authorizations: string[] = [];
  let willStall = options.stallsOnce ?? false;
  const answer: RequestListener = (request, response) => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    if (request.headers.authorization) authorizations.push(request.headers.authorization);
    const wanted = options.isBasic
      ? `Basic ${Buffer.from(`user:${options.password}`).toString('base64')}`
      : 'Bearer T';
    if (url.pathname === '/token') {
      const expected = options.password
        ? `Basic ${Buffer.from(`user:${options.password}`).toString('base64')}`
        : undefined;
      response.statusCode = expected && request.headers.authorization !== expected ? 401 : 200;
      response.end(JSON.stringify({ token: 'T' }));
    } else if (url.pathname.startsWith('/storage/')) {
      // Object stores answer 400 when a registry's token comes along.
      response.statusCode = request.headers.authorization && !options.tls ? 400 : 200;
      const bytes = blobs.get(url.pathname.slice('/storage/'.length)) ?? Buffer.alloc(0);
      if (willStall && bytes.length > 1 << 16) {
        willStall = false;
        response.setHeader('content-length', bytes.length);
        response.write(bytes.subarray(0, bytes.length / 2));
        return;
      }
      if (options.cutsBlobs && bytes.length > 1 << 16) {
        response.setHeader('content-length', bytes.length);
        response.write(bytes.subarray(0, bytes.length / 2), () => request.socket.destroy());
        return;
      }
      response.end(options.spoilBlobs ? Buffer.concat([bytes, Buffer.from('!')]) : bytes);
    } else if (request.headers.authorization !== wanted) {
      response.statusCode = 401;
      response.setHeader(
        'www-authenticate',
        options.isBasic
          ? 'Basic realm="test"'
          : `Bearer realm="${options.realm ?? `${scheme}://${request.headers.host}/token`}",service="test",scope="repository:x:pull"`,
      );
      response.end();
    } else {
      const [kind, reference] = url.pathname.split('/').slice(-2);
      if (kind === 'blobs') {
        response.statusCode = 307;
        // Another host name, so that credentials must not follow.
        response.setHeader(
          'location',
          `${scheme}://${options.tls?.address ?? '127.0.0.1'}:${(server.address() as { port: number }).port}/storage/${reference}`,
        );
        response.end();
      } else {
        const bytes = manifests.get(reference ?? '');
        response.statusCode = bytes ? 200 : 404;
        response.end(bytes);
      }
    }
  };
  const server = options.tls ? createTlsServer(options.tls, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const host = `${options.tls?.address ?? 'localhost'}:${port}`;
  return {
    image: `${host}/tools/x:latest`,
    host,
    layers,
    authorizations,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
