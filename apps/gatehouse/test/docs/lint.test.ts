import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { freePort, temporaryFolder } from '@gatehouse/testing'
import spectralCore, { type RulesetDefinition } from '@stoplight/spectral-core'
import rulesets from '@stoplight/spectral-rulesets'
import type { ApiDocument } from '../../src/docs/document.ts'
import { type Program, started } from '../support/program.ts'

const redocly = join(createRequire(import.meta.url).resolve('@redocly/cli/package.json'), '../bin/cli.js')
const run = promisify(execFile)

describe('the OpenAPI document, as linters see it', () => {
  let program: Program
  let document: ApiDocument

  before(async () => {
    // An address that a linter does not take for an example: localhost is one.
    const port = await freePort()
    program = await started({ port, env: { BASE_URL: `http://127.0.0.1:${port}` } })
    document = (await (await fetch(`${program.url}/openapi.json`)).json()) as ApiDocument
  })
  after(() => program.stop())

  test('redocly lint has no error and no warning', async () => {
    const file = join(temporaryFolder('api-lint'), 'openapi.json')
    writeFileSync(file, JSON.stringify(document))
    const options = ['--extends=recommended-strict', '--format=json', '--max-problems=1000']
    // A click on a link of a mail is answered by a redirect, and by nothing else.
    const args = [redocly, 'lint', file, ...options, '--skip-rule=operation-2xx-response']
    // Neither does it report what it was used for, nor look for newer versions.
    const env = { PATH: process.env.PATH, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const { stdout } = await run(process.execPath, args, { env, timeout: 60_000, maxBuffer: 64 * 1024 * 1024 }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
    )
    const { problems } = JSON.parse(stdout) as { problems: ReadonlyArray<RedoclyProblem> }
    const messages = problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer}: ${message}`)
    assert.deepEqual(messages, [])
  })

  test('Spectral finds nothing by its OpenAPI rules', async () => {
    const spectral = new spectralCore.Spectral()
    // Who operates a deployment, with an address and an email, is not known to the program.
    spectral.setRuleset({
      extends: [[rulesets.oas as RulesetDefinition, 'all']],
      rules: { 'contact-properties': 'off' },
    })
    const problems = await spectral.run(JSON.parse(JSON.stringify(document)))
    assert.deepEqual(
      problems.map(({ code, message, path }) => `${code} ${path.join('/')}: ${message}`),
      [],
    )
  })
})

interface RedoclyProblem {
  readonly ruleId: string
  readonly message: string
  readonly location: ReadonlyArray<{ readonly pointer?: string }>
}
