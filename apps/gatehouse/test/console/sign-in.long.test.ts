import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, describe, test } from 'node:test'
import { freePort, startPostgres, testWith } from '@gatehouse/testing'
import { type Program, started } from '../support/program.ts'

const [oldKey, newKey] = ['zX9-kq3vTn2_pWs7Lm4Rb8Yc1Dh6Fj5G', 'aB4-nm8wUy6_eQr1Kt3Vx5Zc9Gh2Jd7L']

/** Where the console sends a browser that begins to sign in. */
async function begun(url: string, { localAddress = '127.0.0.1', host = new URL(url).host } = {}): Promise<string> {
  const options = { host: '127.0.0.1', port: new URL(url).port, localAddress, headers: { host } }
  const [answer] = (await once(get({ ...options, path: '/console/login' }), 'response')) as [IncomingMessage]
  answer.resume()
  assert.equal(answer.statusCode, 303)
  return answer.headers.location ?? ''
}

describe('beginning to sign in to the console', () => {
  const programs: Program[] = []
  const run = async (options: Parameters<typeof started>[0]) => {
    const program = await started(options)
    programs.push(program)
    return program
  }
  after(async () => {
    for (const program of programs) await program.stop()
  })

  test('a console by itself begins no more than sixty sign-ins of an address in ten minutes', async () => {
    const [identityPort, consolePort] = [await freePort(), await freePort()]
    const [identityUrl, consoleUrl] = [identityPort, consolePort].map((port) => `http://localhost:${port}`)
    const env = {
      ENCRYPTION_KEY: oldKey,
      CONSOLE_CLIENT_SECRET: 'the-secret-of-the-console',
      CONSOLE_URL: consoleUrl ?? '',
      AUTH_URL: identityUrl ?? '',
      BASE_URL: identityUrl ?? '',
    }
    await run({ port: identityPort, env: { ...env, SERVICES: 'identity' } })
    const alone = await run({
      port: consolePort,
      env: { ...env, SERVICES: 'console', IDENTITY_URL: identityUrl ?? '' },
    })
    for (let count = 0; count < 60; count++) assert.match(await begun(alone.url), /\/authorize\?/)
    assert.match(await begun(alone.url), /\/console\/signed-out\?fault=limited$/)
    assert.match(await begun(alone.url, { localAddress: '127.0.0.2' }), /\/authorize\?/, 'others still sign in')
  })

  testWith('postgresql', 'while the encryption key is replaced, sign-ins begin at every process', async () => {
    const server = await startPostgres()
    after(() => server.stop())
    const ports = [await freePort(), await freePort()]
    const [url, host] = [`http://localhost:${ports[0]}`, 'console.example.com']
    const addresses = { BASE_URL: url, AUTH_URL: url, CONSOLE_URL: `https://${host}` }
    const shared = { ...addresses, DATABASE_URL: server.url, SMTP_URL: 'smtp://localhost:1' }
    const keys = [`${oldKey},${newKey}`, `${newKey},${oldKey}`]
    const processes = []
    for (const [index, port] of ports.entries())
      processes.push(await run({ port, env: { ...shared, ENCRYPTION_KEY: keys[index] ?? '' } }))
    for (const { url: one } of processes) assert.match(await begun(one, { host }), /\/authorize\?/)
  })
})
