import { after, before, describe, test } from 'node:test'
import { type Program, started } from '../support/program.ts'
import { everywhere, tryLanguage } from './cases.ts'

describe('snippets against the program', () => {
  let program: Program
  before(async () => {
    program = await started()
  })
  after(() => program.stop())

  for (const language of everywhere)
    test(`those for ${language} get a token, read, write and use an API key`, () => tryLanguage(language, program))
})
