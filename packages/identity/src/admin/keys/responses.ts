import { Type } from 'typebox'
import { instant, lastUsed, secret, text, texts } from '../responses.ts'

const apiKey = {
  id: text,
  owner: text,
  name: text,
  scopes: texts,
  plan: Type.Optional(text),
  prefix: Type.String({ description: 'The beginning of the key, by which it is recognized.', examples: ['gk_3fQ9xZ'] }),
  counter_id: Type.String({ description: 'What gateways count its requests by: the id of the kind `key` in limits.' }),
  created_at: instant,
  expires_at: Type.Optional(instant),
  rotated_at: Type.Optional(instant),
  previous_key_expires_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'Until when the key before a rotation is valid.' }),
  ),
  last_used_at: Type.Optional(lastUsed),
  etag: Type.String({ description: 'Its entity tag, for If-Match.' }),
}
/** An API key. */
export const apiKeySchema = Type.Object(apiKey, { title: 'ApiKey' })
/** An API key that was found by itself. */
export const identifiedKeySchema = Type.Object(
  {
    ...apiKey,
    matched: Type.Unsafe<'current' | 'previous' | 'expired'>({
      type: 'string',
      enum: ['current', 'previous', 'expired'],
      description:
        'Which of its keys it is: the present one, the one before a rotation while it is valid, or an invalid one.',
    }),
  },
  { title: 'IdentifiedApiKey' },
)
/** An API key that was just created, with the key itself. */
export const newApiKeySchema = Type.Object({ ...apiKey, key: Type.Optional(secret) }, { title: 'NewApiKey' })
/** The owner of an API key. */
export const resolvedKeySchema = Type.Object(
  {
    id: text,
    owner: text,
    kind: Type.String({ description: 'user or client.' }),
    scopes: texts,
    plan: text,
  },
  { title: 'ApiKeyOwner' },
)

/** A signing key. */
export const signingKeySchema = Type.Object(
  {
    kid: text,
    alg: text,
    created_at: instant,
    state: Type.Unsafe<'next' | 'active' | 'retiring'>({
      type: 'string',
      enum: ['next', 'active', 'retiring'],
      description: 'next is published and signs later, active signs, retiring only verifies.',
    }),
    activates_at: instant,
    due_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'active: when its successor is to sign. In the past: overdue.' }),
    ),
    last_token_expires_at: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'When the last token that it signed has expired. Absent while no successor is known.',
      }),
    ),
    expires_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'When it is removed from the JWK Set.' }),
    ),
    unreadable: Type.Optional(
      Type.Boolean({ description: 'True where this process cannot open it: an encryption key is missing.' }),
    ),
  },
  { title: 'SigningKey' },
)
/** A signing key that was just created. */
export const newSigningKeySchema = Type.Object({ kid: text, alg: text }, { title: 'NewSigningKey' })
