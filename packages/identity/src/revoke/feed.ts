import { Problem } from '@gatehouse/kit'
import type { ServerContext } from '../context/context.ts'
import type { Revocation } from '../store/index.ts'

/** Most revocations in one answer. */
const maxRevocations = 1_000

export interface RevocationPage {
  readonly revocations: Revocation[]
  /** Where to go on; give it back as `after`. */
  readonly next: string
}

/**
 * What was revoked after the cursor, in the order of commits. Kept as long as the longest access token lives.
 * @throws Problem 400 for a cursor that this feed never gave
 */
export async function readRevocations(
  { store, clock }: Pick<ServerContext, 'store' | 'clock'>,
  after: string | undefined,
): Promise<RevocationPage> {
  const cursor = after === undefined || after === '' ? '0' : after
  if (!/^\d{1,15}$/.test(cursor)) throw new Problem(400, 'after must be a cursor returned by this feed.')
  const page = await store.revocations.listAfter(Number(cursor), maxRevocations, clock.now())
  return { revocations: page.revocations, next: String(page.next) }
}
