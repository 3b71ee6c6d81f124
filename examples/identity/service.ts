/**
 * A service that calls a protected API for itself (client credentials, RFC 6749 section 4.4).
 *
 *     CLIENT_ID=demo CLIENT_SECRET=… node examples/identity/service.ts
 */
const issuer = process.env.ISSUER ?? 'http://localhost:8080'
const api = process.env.API ?? `${issuer}/users/alice`
const credentials = { client_id: process.env.CLIENT_ID ?? 'demo', client_secret: process.env.CLIENT_SECRET ?? '' }

const answer = await fetch(`${issuer}/token`, {
  method: 'POST',
  body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read:users', ...credentials }),
})
const token = (await answer.json()) as { access_token?: string; error_description?: string }
if (!answer.ok) throw new Error(`no token: ${token.error_description}`)

const user = await fetch(api, { headers: { authorization: `Bearer ${token.access_token}` } })
console.log(user.status, await user.text())
