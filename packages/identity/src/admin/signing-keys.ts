import type { SigningAlgorithm } from '../client.ts'
import type { Parts } from '../parts.ts'

/** What operators may know of a signing key. */
export interface SigningKeyAnswer {
  readonly kid: string
  readonly alg: SigningAlgorithm
  readonly created_at: string
  readonly activates_at: string
  readonly expires_at?: string
}

export function listSigningKeys({ keys }: Pick<Parts, 'keys'>): SigningKeyAnswer[] {
  return keys.list().map(({ kid, alg, createdAt, activatesAt, expiresAt }) => ({
    kid,
    alg,
    created_at: new Date(createdAt).toISOString(),
    activates_at: new Date(activatesAt).toISOString(),
    ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
  }))
}
