import type { Database } from '@gatehouse/kit'
import type { RefreshFamily } from '../grant.ts'
import type { FoundFamily, RefreshFamilies } from '../store.ts'
import { type GrantRow, heldGrantColumns, heldGrantOf, heldGrantTables } from './grants.ts'
import { orUndefined } from './rows.ts'

interface FamilyRow extends GrantRow {
  readonly generation: number
  readonly current_hash: string
  readonly previous_hash: string | null
  readonly successor_sealed: string | null
  readonly rotated_at: number
  readonly family_expires_at: number
}

const find = `SELECT f.generation, f.current_hash, f.previous_hash, f.successor_sealed, f.rotated_at,
    f.expires_at AS family_expires_at, ${heldGrantColumns}
  FROM ${heldGrantTables} JOIN identity.refresh_family f ON f.grant_id = g.id WHERE f.grant_id = $1`

const rotate = `UPDATE identity.refresh_family
  SET generation = $3, current_hash = $4, previous_hash = $2, successor_sealed = $5, rotated_at = $6, expires_at = $7
  WHERE grant_id = $1 AND current_hash = $2`

export class PostgresRefreshFamilies implements RefreshFamilies {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async find(grantId: string): Promise<FoundFamily | undefined> {
    const { rows } = await this.#database.query<FamilyRow>({ name: 'identity family', text: find, values: [grantId] })
    const row = rows[0]
    return (
      row && {
        ...heldGrantOf(row),
        family: {
          grantId,
          generation: row.generation,
          currentHash: row.current_hash,
          previousHash: orUndefined(row.previous_hash),
          successorSealed: orUndefined(row.successor_sealed),
          rotatedAt: row.rotated_at,
          expiresAt: row.family_expires_at,
        },
      }
    )
  }

  async rotate(hash: string, next: RefreshFamily): Promise<boolean> {
    const values = [
      next.grantId,
      hash,
      next.generation,
      next.currentHash,
      next.successorSealed ?? null,
      next.rotatedAt,
      next.expiresAt,
    ]
    return (await this.#database.query({ name: 'identity rotate', text: rotate, values })).rowCount === 1
  }
}
