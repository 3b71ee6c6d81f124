import type { SealedColumn } from '@gatehouse/kit'
import {
  connectionFlowPurpose,
  connectionPurpose,
  connectionResponsePurpose,
  providerSessionPurpose,
} from '../../connections/secrets.ts'
import { signingKeyPurpose } from '../../keys/generate.ts'
import { outboxPurpose } from '../../mail/messages.ts'
import { continuationPurpose } from '../../sessions/continuation.ts'
import { totpPurpose } from '../../sessions/second-factor/totp-secret.ts'

/**
 * The sealed columns of identity, for `gatehouse keys reseal`. The successor of a refresh token is sealed with the
 * token before it, not with an encryption key, and so is not listed.
 */
export const identitySealed: readonly SealedColumn[] = [
  { table: 'identity.signing_key', id: 'kid', idType: 'text', sealed: 'private_sealed', purpose: signingKeyPurpose },
  { table: 'identity.outbox', id: 'id', idType: 'uuid', sealed: 'payload_sealed', purpose: outboxPurpose },
  {
    table: 'identity.authenticator_app',
    id: 'user_id',
    idType: 'text',
    sealed: 'secret_sealed',
    purpose: totpPurpose,
  },
  {
    table: 'identity.sign_in_link',
    id: 'hash',
    idType: 'text',
    sealed: 'continuation',
    purpose: continuationPurpose,
  },
  { table: 'identity.connection', id: 'id', idType: 'text', sealed: 'secret_sealed', purpose: connectionPurpose },
  {
    table: 'identity.connection_flow',
    id: 'hash',
    idType: 'text',
    sealed: 'flow_sealed',
    purpose: connectionFlowPurpose,
  },
  {
    table: 'identity.connection_flow',
    id: 'hash',
    idType: 'text',
    sealed: 'response_sealed',
    purpose: connectionResponsePurpose,
  },
  {
    table: 'identity.connection_flow',
    id: 'hash',
    idType: 'text',
    sealed: 'continuation',
    purpose: continuationPurpose,
  },
  {
    table: 'identity.provider_session',
    id: 'id',
    idType: 'uuid',
    sealed: 'id_token_sealed',
    purpose: providerSessionPurpose,
  },
]
