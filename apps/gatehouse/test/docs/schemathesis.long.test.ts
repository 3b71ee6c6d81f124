import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { requireProgram, temporaryFolder, testWith } from '@gatehouse/testing'
import { startWithEveryScope, tokenOf } from '../support/every-scope.ts'

/** An answer without an end: the stream stays open as long as its token. Their own tests are elsewhere. */
const endless = ['/v1/users/{id}/inbox/stream', '/admin/v1/live']

/** What may take the run's own credential away, since ids are taken from earlier answers. These paths come last. */
const selfDestructive = ['/admin/v1/clients/{id}', '/admin/v1/signing-keys/rotate']

const settings = join(import.meta.dirname, 'schemathesis.toml')

testWith('schemathesis', 'every documented operation answers generated requests as documented', async () => {
  const folder = temporaryFolder('schemathesis')
  const program = await startWithEveryScope(['first', 'second'])
  try {
    const first = await tokenOf(program.url, 'first')
    await schemathesis(
      folder,
      program.url,
      first,
      [...endless, ...selfDestructive].map((path) => `--exclude-path=${path}`),
    )
    assert.equal(await statusWith(program.url, first), 200, 'the credential is good to the end')
    const second = await tokenOf(program.url, 'second')
    await schemathesis(
      folder,
      program.url,
      second,
      selfDestructive.map((path) => `--include-path=${path}`),
    )
  } finally {
    await program.stop()
  }
})

/**
 * How long one run may take: one that takes longer hangs, and found no fault. A response that does not come ends its
 * request after 10 s (request-timeout), so this waits for the generator alone, whose pace is that of the machine.
 */
const maxRunMs = 25 * 60_000

/** Ends with what it printed when a check failed. The same requests are sent in every run. */
function schemathesis(folder: string, url: string, token: string, selection: readonly string[]): Promise<void> {
  const header = `--header=Authorization: Bearer ${token}`
  const args = ['--config-file', settings, 'run', `${url}/openapi.json`, header, '--no-color', ...selection]
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const options = { cwd: folder, timeout: maxRunMs, maxBuffer: 64 * 1024 * 1024 }
  execFile(requireProgram('schemathesis'), args, options, (error, stdout, stderr) => {
    const what = error?.killed ? `did not end within ${maxRunMs} ms` : 'found faults'
    if (error) reject(new Error(`schemathesis ${what}:\n${brief(stdout)}\n${stderr}`))
    else resolve()
  })
  return promise
}

/** Generated values may be long; the beginning of a line names what is wrong. */
function brief(text: string): string {
  const lines = text.slice(Math.max(0, text.indexOf('= FAILURES ='))).split('\n')
  return lines.map((line) => line.slice(0, 300)).join('\n')
}

async function statusWith(url: string, token: string): Promise<number> {
  const answer = await fetch(`${url}/admin/v1/clients`, { headers: { authorization: `Bearer ${token}` } })
  await answer.body?.cancel()
  return answer.status
}
