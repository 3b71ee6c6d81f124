import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { briefly } from '@gatehouse/testing'
import { migratedDataDir } from '../support/data-dir.ts'
import { root, started } from '../support/program.ts'
import { eventually } from '../support/shop.ts'

function gatehouse(dataDir: string, ...args: string[]) {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...briefly, join(root, 'apps/gatehouse/src/cli.ts'), ...args],
    {
      cwd: root,
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, DATA_DIR: dataDir },
      encoding: 'utf8',
      timeout: 60_000,
    },
  )
  return { stdout, stderr, status }
}

test('a client created on the command line gets a token with the secret that was shown once', async () => {
  const dataDir = await migratedDataDir()
  const added = gatehouse(dataDir, 'client', 'add', 'shop', '--scopes', 'write:notifications', '--plan', 'pro')
  assert.equal(added.status, 0, added.stderr)
  const { client_id, client_secret } = JSON.parse(added.stdout)
  assert.ok(!gatehouse(dataDir, 'client', 'list').stdout.includes(client_secret))
  const program = await started({ dataDir })
  const answer = await fetch(`${program.url}/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }),
  })
  assert.equal(answer.status, 200)
  const locked = gatehouse(dataDir, 'user', 'list')
  assert.equal(locked.status, 1)
  assert.match(locked.stderr, /^gatehouse: the data folder \S+ is in use by another process/)
  await program.stop()
})

test('an invitation made on the command line is mailed once the program runs', async () => {
  const dataDir = await migratedDataDir()
  assert.equal(gatehouse(dataDir, 'organization', 'add', 'acme', '--name', 'Acme Ltd').status, 0)
  const invited = gatehouse(dataDir, 'organization', 'invite', 'acme', 'ann@example.com', '--roles', 'owner')
  assert.equal(invited.status, 0, invited.stderr)
  const program = await started({ dataDir })
  const mailbox = async () => {
    const answer = await fetch(`${program.url}/dev/mailbox`, { headers: { accept: 'application/json' } })
    return ((await answer.json()) as { messages: { address: string; body: string }[] }).messages
  }
  const found = await eventually(mailbox, (messages) => messages.some(({ address }) => address === 'ann@example.com'))
  assert.match(found.find(({ address }) => address === 'ann@example.com')?.body ?? '', /\/invitation\?token=/)
  await program.stop()
})

test('a command that is not one, or lacks its argument, ends with what was expected', async () => {
  const dataDir = await migratedDataDir()
  const unknown = gatehouse(dataDir, 'client', 'dance')
  assert.equal(unknown.status, 1)
  assert.match(unknown.stderr, /^gatehouse: unknown command "client dance"; client has list, add, /)
  assert.match(gatehouse(dataDir, '--help').stdout, /gatehouse keys rotate/)
  assert.match(
    gatehouse(dataDir, 'client', 'add').stderr,
    /^gatehouse: <id> is missing; usage: gatehouse client add <id> /,
  )
  assert.match(
    gatehouse(dataDir, 'keys', 'rotate', '--alg', 'HS256').stderr,
    /--alg must be one of RS256, ES256, PS256, EdDSA, not HS256/,
  )
  const old = gatehouse(dataDir, 'client', 'add', 'shop', '--grant-types', 'password')
  assert.match(old.stderr, /grant_types\.0 must be one of authorization_code/)
})
