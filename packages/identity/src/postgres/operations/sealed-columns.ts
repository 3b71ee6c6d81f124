import type { SealedColumn } from '@gatehouse/kit'
import { sealedFor as keyFor } from '../../keys/generate.ts'
import { sealedFor as outboxFor } from '../../mail/messages.ts'
import { sealedFor as continuationFor } from '../../sessions/continuation.ts'

/**
 * What identity keeps sealed, for `gatehouse keys reseal`. The successor of a refresh token is sealed with the token
 * before it, not with an encryption key, and is not among them.
 */
export const identitySealed: readonly SealedColumn[] = [
  { table: 'identity.signing_key', id: 'kid', idType: 'text', sealed: 'private_sealed', purpose: keyFor },
  { table: 'identity.outbox', id: 'id', idType: 'uuid', sealed: 'payload_sealed', purpose: outboxFor },
  {
    table: 'identity.sign_in_link',
    id: 'hash',
    idType: 'text',
    sealed: 'continuation',
    purpose: continuationFor,
  },
]
