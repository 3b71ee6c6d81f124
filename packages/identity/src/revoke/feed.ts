import { Problem } from '@gatehouse/kit'
import type { ServerContext } from '../context/context.ts'
import type { Revocation } from '../store/index.ts'

/** The size of a page. */
const maxRevocations = 1_000

/** A page of the revocation feed. */
export interface RevocationPage {
  readonly revocations: Revocation[]
  /** The cursor of the next page; pass it as `after`. */
  readonly next: string
}

/**
 * Reads what was revoked after the cursor, in the order of commits. Entries are kept for the longest lifetime of an
 * access token.
 * @throws Problem 400 for an invalid cursor, 410 for one ahead of the feed: entries up to it would never be read
 */
export async function readRevocations(
  { store, clock }: Pick<ServerContext, 'store' | 'clock'>,
  after: string | undefined,
): Promise<RevocationPage> {
  const cursor = after === undefined || after === '' ? '0' : after
  if (!/^\d{1,15}$/.test(cursor)) throw new Problem(400, 'after must be a cursor returned by this feed.')
  const page = await store.revocations.listAfter(Number(cursor), maxRevocations, clock.now())
  if (Number(cursor) > page.last) {
    const why = 'it is of another database, or of a later state of this one'
    throw new Problem(410, `The cursor ${cursor} is ahead of the feed, which is at ${page.last}: ${why}.`)
  }
  return { revocations: page.revocations, next: String(page.next) }
}
