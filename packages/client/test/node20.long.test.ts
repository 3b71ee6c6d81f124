import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findNode20 } from '@gatehouse/testing'

/** A server that knows one user, and a client that asks it for the plan. */
const program = `
import { createServer } from 'node:http'
import { clientCredentials, createGatehouse } from './index.js'
const answers = {
  '/.well-known/openid-configuration': () => ({ issuer, token_endpoint: issuer + '/token' }),
  '/token': () => ({ access_token: 'token', token_type: 'Bearer', expires_in: 900 }),
  '/users/alice': () => ({ id: 'alice', plan: 'free' }),
}
const server = createServer((request, response) => {
  const answer = answers[request.url]
  response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(answer?.() ?? {}))
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const issuer = 'http://127.0.0.1:' + server.address().port
const credentials = clientCredentials({ issuer, clientId: 'shop', clientSecret: 'secret', scope: ['read:users'] })
const gatehouse = createGatehouse({ baseUrl: issuer, credentials })
console.log(JSON.stringify(await gatehouse.users.getPlan({ id: 'alice' })))
server.close()
`

const node20 = findNode20()

test('what is built gets a token and calls an API under Node 20', { skip: node20 === undefined }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  try {
    const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')
    const config = join(import.meta.dirname, '../tsconfig.build.json')
    execFileSync(process.execPath, [tsc, '-p', config, '--outDir', folder], { stdio: 'inherit' })
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'program.js'), program)
    const printed = execFileSync(node20 ?? '', [join(folder, 'program.js')], { encoding: 'utf8', timeout: 30_000 })
    assert.deepEqual(JSON.parse(printed), { id: 'alice', plan: 'free' })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
