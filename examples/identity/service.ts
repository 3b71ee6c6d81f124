/**
 * A service that calls a protected API for itself (client credentials, RFC 6749 section 4.4).
 *
 *     CLIENT_ID=demo CLIENT_SECRET=… npx node examples/identity/service.ts
 */
import { call, clientCredentials, connect } from '@gatehouse/client'

const issuer = process.env.ISSUER ?? 'http://localhost:8080'
const api = process.env.API ?? `${issuer}/users/alice`
const { CLIENT_ID: clientId = 'demo', CLIENT_SECRET: clientSecret = '' } = process.env

const credentials = clientCredentials({ issuer, clientId, clientSecret, scope: ['read:users'] })
const connection = connect({ baseUrl: api, credentials })
const answer = await call(connection, { method: 'GET', path: '' }, { onAnswer: ({ status }) => console.log(status) })
console.log(answer)
