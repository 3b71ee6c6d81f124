import type { Static } from 'typebox'
import { audit } from '../../audit/record.ts'
import type { AdminContext } from '../../context/features.ts'
import type { SigningAlgorithm } from '../../model/client.ts'
import { type Authority, auditChange } from '../authority.ts'
import type { signingKeySchema } from '../responses.ts'

/** A signing key as management returns it, without the private part. */
export type SigningKeyResponse = Static<typeof signingKeySchema>

/** Lists the published signing keys. */
export function listSigningKeys({ keys }: Pick<AdminContext, 'keys'>): SigningKeyResponse[] {
  return keys.list().map(({ kid, alg, createdAt, activatesAt, expiresAt }) => ({
    kid,
    alg,
    created_at: new Date(createdAt).toISOString(),
    activates_at: new Date(activatesAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
  }))
}

/** Creates a new signing key and returns its kid. @throws Problem 503 */
export async function rotateSigningKey(
  context: AdminContext,
  by: Authority,
  alg: SigningAlgorithm,
  compromised: boolean = false,
): Promise<string> {
  const target = { type: 'signing_key', id: alg }
  await auditChange(context, by, { action: 'signing_keys.rotate', target, after: { compromised } })
  const kid = await context.keys.rotate(alg, compromised)
  const { subject: actor, address: ip = '', requestId: id = '' } = by.actor
  const request = by.unrestricted ? undefined : { ip, id }
  await audit(context, request, 'key_rotated', { actor, details: { alg, kid, compromised } })
  return kid
}
