import { Type } from 'typebox'

const text = Type.String()

/** A form of OAuth parameters, for the API document: the endpoint itself checks them, and ignores those it doesn't know. */
export function oauthForm(...names: readonly string[]): object {
  const schema = Type.Object(Object.fromEntries(names.map((name) => [name, Type.Optional(text)])))
  return { content: { 'application/x-www-form-urlencoded': { schema } } }
}

const oauthError = Type.Object({ error: text, error_description: Type.Optional(text) })

/** The error answers of RFC 6749 §5.2. */
export const oauthErrors = { 400: oauthError, 401: oauthError }

export const tokenAnswer = Type.Object({
  access_token: text,
  token_type: text,
  expires_in: Type.Integer(),
  scope: text,
  refresh_token: Type.Optional(text),
  id_token: Type.Optional(text),
})

export const jwksAnswer = Type.Object({ keys: Type.Array(Type.Record(text, Type.Unknown())) })

export const metadataAnswer = Type.Record(text, Type.Unknown())

export const userAnswer = Type.Object({ id: text, plan: text })
