import type { Database } from '@gatehouse/kit'
import {
  type LockedFamily,
  type Rotation,
  type RotationResult,
  rotationResult,
} from '../../model/grants/refresh-rotation.ts'
import { type LockedFamilyRow, queries } from '../queries.ts'
import { orUndefined } from '../rows.ts'

/**
 * Rotates many families in one statement, each on its own merits. Of several uses of one family's tokens the first is
 * applied first; the others are judged by the state that it left.
 */
export async function rotateFamilies(database: Database, rotations: readonly Rotation[]): Promise<RotationResult[]> {
  const results = new Map<Rotation, RotationResult>()
  for (let left = rotations; left.length > 0; left = left.filter((rotation) => !results.has(rotation))) {
    const byGrant = [...Map.groupBy(left, ({ next }) => next.grantId).values()]
    const families = await rotateDistinct(
      database,
      byGrant.flatMap((same) => same.slice(0, 1)),
    )
    for (const [first, ...others] of byGrant) {
      if (first === undefined) continue
      const family = families.get(first.next.grantId)
      results.set(first, rotationResult(first, family))
      const after = family?.isRotated ? rotatedFamily(first) : family
      // Whoever presents the new current token is due in the next round.
      for (const one of others) if (one.hash !== after?.currentHash) results.set(one, rotationResult(one, after))
    }
  }
  return rotations.map((rotation) => results.get(rotation) ?? { outcome: 'ended' })
}

/** The family as a rotation leaves it. */
function rotatedFamily({ hash, next }: Rotation): LockedFamily {
  const { generation, currentHash, successorSealed, rotatedAt } = next
  return { generation, currentHash, previousHash: hash, successorSealed, rotatedAt, isRotated: false }
}

/** Rotates at most one token of each family; answers the families by their grants. */
async function rotateDistinct(database: Database, rotations: readonly Rotation[]): Promise<Map<string, LockedFamily>> {
  const values = [
    rotations.map(({ next }) => next.grantId),
    rotations.map(({ hash }) => hash),
    rotations.map(({ next }) => next.generation),
    rotations.map(({ next }) => next.currentHash),
    rotations.map(({ next }) => next.successorSealed ?? null),
    rotations.map(({ next }) => next.rotatedAt),
    rotations.map(({ next }) => next.expiresAt),
  ]
  const [locked] = await database.pipeline<LockedFamilyRow>([{ ...queries.rotateRefreshFamilies, values }])
  return new Map(locked?.rows.map((row) => [row.grant_id, lockedFamily(row)]))
}

function lockedFamily(row: LockedFamilyRow): LockedFamily {
  return {
    generation: row.generation,
    currentHash: row.current_hash,
    previousHash: orUndefined(row.previous_hash),
    successorSealed: orUndefined(row.successor_sealed),
    rotatedAt: row.rotated_at,
    isRotated: row.rotated,
  }
}
