import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { systemClock } from '@gatehouse/kit'
import { freePort } from '@gatehouse/testing'
import { TestApp } from '../../packages/identity/test/support/factors/factors.ts'
import { type LiveIdentity, Person, startIdentity } from '../../packages/identity/test/support/live.ts'

const client_secret = 'web-secret-0123456789abc'
let server: LiveIdentity
let origin: string
let stop: () => void
before(async () => {
  const port = await freePort()
  origin = `http://localhost:${port}`
  const user = (id: string, name: string) => ({ id, password: 'correct horse', claims: { name } })
  server = await startIdentity(
    {
      users: [user('alice', 'Alice Adams'), user('bob', 'Bob <b>')],
      clients: [{ client_id: 'demo-web', client_secret, redirect_uris: [`${origin}/callback`] }],
      organizationRoles: [{ key: 'editor', permissions: [] }],
      organizations: [
        {
          id: 'acme',
          members: [
            { user_id: 'alice', roles: ['owner'] },
            { user_id: 'bob', roles: ['editor'] },
          ],
        },
      ],
    },
    {},
    { mfa: 'optional' },
  )
  const child = spawn(process.execPath, [join(import.meta.dirname, 'web-app.ts')], {
    env: { ...process.env, ISSUER: server.issuer, PORT: String(port), CLIENT_SECRET: client_secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stop = () => child.kill()
  await once(createInterface(child.stdout), 'line')
})
after(async () => {
  stop()
  await server.close()
})

test('an owner sees the roles, and deletes after a second factor', async () => {
  let enrolments = 0
  const alice = new Person((page) => {
    if (!page.includes('class="secret"')) return {}
    enrolments++
    return { code: new TestApp({ clock: systemClock }, { text: page }).code() }
  })
  const home = await alice.browse(new URL('/sign-in', origin))
  assert.match(home.text, /Hello Alice Adams[\s\S]*Organization: acme\. Roles: owner\.[\s\S]*Delete the project/)
  assert.equal(enrolments, 0, 'signing in needs no second factor')
  const codes = await alice.browse(new URL('/delete', origin))
  const continuation = /name="continuation" value="([^"]+)"/.exec(codes.text)?.[1] ?? assert.fail(codes.text)
  const resumed = new URL(`/authorize/continue?continuation=${continuation}`, server.issuer)
  assert.match((await alice.browse(resumed)).text, /Deleted/)
  assert.equal(enrolments, 1, 'the first time a factor is set up')
  assert.match((await alice.browse(new URL('/delete', origin))).text, /Deleted/)
  assert.equal(enrolments, 1, 'the second factor counts for five minutes')
})

test('a member who is no owner sees the roles and deletes nothing', async () => {
  const bob = new Person(() => ({ username: 'bob' }))
  const home = await bob.browse(new URL('/sign-in', origin))
  assert.match(home.text, /Hello Bob &#60;b&#62;[\s\S]*Roles: editor/)
  assert.doesNotMatch(home.text, /Delete the project/)
  assert.match((await bob.browse(new URL('/delete', origin))).text, /Only owners/)
})

test('an answer that this browser did not request is refused, and so is a form of another site', async () => {
  const answer = await fetch(`${origin}/callback?code=x&state=y`)
  assert.doesNotMatch(await answer.text(), /Hello/)
  const begun = await fetch(`${origin}/sign-in`, { redirect: 'manual' })
  const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const forged = await fetch(`${origin}/callback?code=x&state=y&iss=${server.issuer}`, { headers: { cookie } })
  assert.equal(forged.status, 400)
})
