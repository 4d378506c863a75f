import { KindlingError } from '../protocol/error.ts';

const LOGIN = /\/\/[^/@\s]+@|^[^/@\s:]+:[^/@\s]+@/;

/** What an operator may put into boot files. */
export interface PublicValues {
  proxies?: { http?: string; https?: string; no?: string } | undefined;
  environment?: Record<string, string> | undefined;
  additionalKernelArgs?: string[] | undefined;
}

/** Boot files are served to everybody, most of them in clear: a password in them is public. Throws KND_USAGE. */
export function refuseSecrets(request: PublicValues): void {
  const given = [
    ...Object.entries(request.proxies ?? {}).map(([name, value]) => [`the ${name} proxy`, value] as const),
    ...(request.additionalKernelArgs ?? []).map((value) => [value.split('=')[0] ?? '', value] as const),
    ...Object.entries(request.environment ?? {}),
  ];
  for (const [name, value = ''] of given) {
    if (!LOGIN.test(value) && !/PASSWORD|SECRET|TOKEN/i.test(name)) continue;
    throw new KindlingError(
      'KND_USAGE',
      `${name} holds a password, and boot files are for everybody to read`,
      {
        hint: 'Let the proxy know the nodes by their addresses. The login of a registry goes into the variables of the action (REGISTRY_USERNAME, REGISTRY_PASSWORD), which only the node gets.',
      },
    );
  }
}
