import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { SnippetLanguage } from '../../../console/src/browser/snippets/snippet.ts'
import { root } from '../support/program.ts'

const run = promisify(execFile)

interface Runner {
  readonly file: string
  readonly program: string
  /** Runs the program in `file`, in the folder that holds it. */
  readonly args: readonly string[]
  /** Checks without running it; default: nothing. */
  readonly compile?: readonly string[]
}

/** How a snippet becomes a program. */
export const runners: Readonly<Record<SnippetLanguage, Runner>> = {
  curl: { file: 'snippet.sh', program: 'sh', args: ['snippet.sh'] },
  TypeScript: { file: 'snippet.ts', program: process.execPath, args: ['snippet.ts'] },
  Python: { file: 'snippet.py', program: 'python3', args: ['snippet.py'] },
  Go: { file: 'main.go', program: 'go', args: ['run', 'main.go'], compile: ['vet', 'main.go'] },
  Java: { file: 'Snippet.java', program: 'java', args: ['-Dfile.encoding=UTF-8', 'Snippet.java'] },
  PHP: { file: 'snippet.php', program: 'php', args: ['snippet.php'], compile: ['-l', 'snippet.php'] },
  'C#': { file: 'Program.cs', program: 'dotnet', args: ['run'], compile: ['build', '--nologo'] },
}

const project = `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType><TargetFramework>net8.0</TargetFramework>
<ImplicitUsings>enable</ImplicitUsings></PropertyGroup></Project>`

/** Runs a snippet with its secrets in the environment; resolves with what it printed. */
export async function runSnippet(
  language: SnippetLanguage,
  snippet: string,
  secrets: Readonly<Record<string, string>>,
): Promise<string> {
  // Below the packages, so that a snippet finds the client.
  const parent = language === 'TypeScript' ? join(root, 'apps/gatehouse/test/snippets') : tmpdir()
  const folder = mkdtempSync(join(parent, 'snippet-'))
  try {
    const { file, program, args, compile } = runners[language]
    writeFileSync(join(folder, file), snippet)
    if (language === 'C#') writeFileSync(join(folder, 'snippet.csproj'), project)
    const { PATH, HOME } = process.env
    const options = { cwd: folder, env: { PATH, HOME, LANG: 'C.UTF-8', ...secrets }, timeout: 300_000 }
    if (compile) await run(program, compile, options)
    return (await run(program, args, options)).stdout
  } catch (error) {
    return assert.fail(`${language}: ${String(error)} ${(error as { stderr?: string }).stderr ?? ''}\n${snippet}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
