import type { Passkey, PasskeyTransport } from '../../model/factors/passkey.ts'
import { orUndefined } from '../rows.ts'

/** A row of `identity.passkey`. */
export interface PasskeyRow {
  readonly passkey_id: string
  readonly credential_id: string
  readonly user_id: string
  readonly public_key: string
  readonly sign_count: number
  readonly backup_eligible: boolean
  readonly backed_up: boolean
  readonly transports: PasskeyTransport[]
  readonly aaguid: string
  readonly passkey_name: string
  readonly registered_at: number
  readonly last_used_at: number | null
  readonly last_user_agent: string | null
  readonly counter_regressed_at: number | null
}

/** The columns of a {@link PasskeyRow} of the table `p`, apart from those of an account beside it. */
export const passkeyColumns = `p.id AS passkey_id, p.credential_id, p.user_id, p.public_key, p.sign_count, p.backup_eligible, p.backed_up,
  p.transports, p.aaguid, p.name AS passkey_name, p.created_at AS registered_at, p.last_used_at, p.last_user_agent,
  p.counter_regressed_at`

/** Converts a row. */
export function passkeyOf(row: PasskeyRow): Passkey {
  return {
    id: row.passkey_id,
    credentialId: row.credential_id,
    userId: row.user_id,
    publicKey: row.public_key,
    signCount: row.sign_count,
    backupEligible: row.backup_eligible,
    backedUp: row.backed_up,
    transports: row.transports,
    aaguid: row.aaguid,
    name: row.passkey_name,
    createdAt: row.registered_at,
    lastUsedAt: orUndefined(row.last_used_at),
    lastUserAgent: orUndefined(row.last_user_agent),
    counterRegressedAt: orUndefined(row.counter_regressed_at),
  }
}
