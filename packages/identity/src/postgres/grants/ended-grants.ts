import type { Transaction } from '@gatehouse/kit'
import type { RevocationTimes } from '../../model/grants/revocation-times.ts'
import { appendRevocations } from '../tokens/revocations.ts'

/** Deletes the refresh tokens of revoked grants and adds them to the revocation feed: the last step of a transaction. */
export async function deleteRefreshFamilies(
  tx: Transaction,
  ended: readonly { id: string }[],
  end: RevocationTimes,
): Promise<void> {
  if (ended.length === 0) return
  const ids = ended.map(({ id }) => id)
  await tx.query('DELETE FROM identity.refresh_family WHERE grant_id = ANY($1::uuid[])', [ids])
  await appendRevocations(
    tx,
    ids.map((grant) => ({ grant })),
    end,
  )
}
