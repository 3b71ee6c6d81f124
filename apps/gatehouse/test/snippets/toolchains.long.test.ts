import { after, before, describe } from 'node:test'
import { type Toolchain, testWith } from '@gatehouse/testing'
import { type Program, started } from '../support/program.ts'
import { compiled, tryLanguage } from './cases.ts'

const toolchains: Readonly<Record<string, Toolchain>> = { Go: 'go', Java: 'javac', PHP: 'php', 'C#': 'dotnet' }

describe('snippets that need a toolchain, against the program', () => {
  let program: Program
  before(async () => {
    program = await started()
  })
  after(() => program.stop())

  for (const language of compiled)
    testWith(toolchains[language] ?? 'go', `those for ${language} compile, and do what they say`, () =>
      tryLanguage(language, program),
    )
})
