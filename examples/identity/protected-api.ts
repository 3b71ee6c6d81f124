/**
 * An API that takes the tokens of this server: signature, issuer, audience, times and scope are checked, the keys are
 * fetched once and kept.
 *
 *     node examples/identity/protected-api.ts     # then call http://localhost:4000/ with a bearer token
 */
import { createServer } from 'node:http'
import { BearerError, createBearer, wwwAuthenticate } from '@gatehouse/bearer'

const issuer = process.env.ISSUER ?? 'http://localhost:8080'
const audience = process.env.AUDIENCE ?? issuer
const port = Number(process.env.PORT ?? 4000)
const bearer = createBearer({ issuer, audience })

const server = createServer(async (request, response) => {
  try {
    const caller = await bearer.authenticate(request.headers.authorization, { scope: 'read:users' })
    response.end(`Hello ${caller.subject}\n`)
  } catch (error) {
    if (!(error instanceof BearerError)) response.writeHead(500).end()
    else response.writeHead(error.status, { 'www-authenticate': wwwAuthenticate(error, { realm: 'example' }) }).end()
  }
})
server.listen(port, '127.0.0.1', () => console.log(`listening on http://localhost:${port}`))
