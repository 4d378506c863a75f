import type { ECDH } from 'node:crypto';
import { reconnectBackOff, retryUntilItWorks } from '../../net/retry.ts';
import { makeNodeKey, nodeKeyCode } from '../../protocol/sealed-secret.ts';
import { CredentialFiles } from '../credentials/credential-files.ts';
import { areCredentialsGone, Credentials } from '../credentials/credentials.ts';
import type { Log } from '../report/log.ts';
import type { OnboardOptions } from './onboard.ts';
import { type Onboarded, onboard } from './onboard.ts';

/** Client id and secret of an earlier run of the agent in this boot, if there are any: a server onboards a node only once. */
function storedCredentials(files: CredentialFiles): Onboarded | undefined {
  const clientId = files.read('clientId');
  const clientSecret = files.read('clientSecret');
  const projectId = files.read('projectId');
  if (clientId === undefined || clientSecret === undefined || projectId === undefined) return undefined;
  return { projectId, grant: { kind: 'client', clientId, clientSecret } };
}

/** Kept beside the credentials, in RAM: an agent that was restarted is still the same machine to the server. */
function keyOfThisBoot(files: CredentialFiles, log: Log): ECDH {
  const kept = files.read('nodeKey');
  if (kept) return makeNodeKey(Buffer.from(kept, 'base64'));
  const key = makeNodeKey();
  files.write({ nodeKey: key.getPrivateKey('base64') });
  log.info({ key: nodeKeyCode(key.getPublicKey()) }, 'made a key for this boot');
  return key;
}

/** Onboards the node (unless it is) and gets its first tokens, however long that takes. */
export async function obtainCredentials(
  options: Omit<OnboardOptions, 'nodeKey'> & { keycloak: string; isAnew: boolean },
): Promise<Credentials> {
  const { config, network, log, signal } = options;
  const files = new CredentialFiles(config.credentialsFolder);
  const stored = options.isAnew ? undefined : storedCredentials(files);
  if (stored) log.info('credentials of an earlier run are still there');
  const onboarded = stored ?? (await onboard({ ...options, nodeKey: keyOfThisBoot(files, log) }));
  const { grant, projectId } = onboarded;
  files.write({
    projectId,
    ...(grant.kind === 'client' ? { clientId: grant.clientId, clientSecret: grant.clientSecret } : {}),
  });
  const tls = config.tls ? 'verified' : 'off';
  const { keycloak } = options;
  const credentials = new Credentials({ network, keycloak, tls, files, log, projectId }, grant);
  if (onboarded.token) credentials.adopt(onboarded.token);
  await retryUntilItWorks(() => credentials.renew(), {
    name: `an access token from ${keycloak}`,
    signal,
    onFailure: options.onWaiting,
    backOff: reconnectBackOff(options.pace),
    isFinal: areCredentialsGone,
  });
  log.info({ projectId }, 'Credentials written successfully.');
  return credentials;
}
