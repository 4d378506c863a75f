import { plainAddress } from '../../net/address-group.ts';

/** grpc-js gives "10.0.0.7:40000" or "::ffff:10.0.0.7:40000". */
export function peerAddress(peer: string): string {
  return plainAddress(peer.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''));
}
