import type { DevicePageContext } from '../context/features.ts'
import type { DeviceRequest } from '../store/index.ts'
import type { SignedIn } from './decision.ts'
import { userCodeHash } from './user-code.ts'

/** Binds the request with this user code to the session; undefined when it is unknown, decided or another session's. */
export function claimRequest(
  { store, clock }: DevicePageContext,
  code: string,
  { session }: SignedIn,
): Promise<DeviceRequest | undefined> {
  return store.deviceCodes.claim(userCodeHash(code), session.id, clock.now())
}
