import { csharpSnippet } from './csharp.ts'
import { curlSnippet } from './curl.ts'
import { goSnippet } from './go.ts'
import { javaSnippet } from './java.ts'
import { phpSnippet } from './php.ts'
import { planSnippet, type SnippetPlan, type SnippetRequest } from './plan.ts'
import { pythonSnippet } from './python.ts'
import { typescriptSnippet } from './typescript.ts'

const writers = {
  curl: curlSnippet,
  TypeScript: typescriptSnippet,
  Python: pythonSnippet,
  Go: goSnippet,
  Java: javaSnippet,
  PHP: phpSnippet,
  'C#': csharpSnippet,
} as const satisfies Readonly<Record<string, (plan: SnippetPlan) => string>>

/** A language of snippets. */
export type SnippetLanguage = keyof typeof writers

/** Every language of snippets. */
export const snippetLanguages = Object.keys(writers) as readonly SnippetLanguage[]

/** A small program that does what the request says. It has no secret in it: it reads one from the environment. */
export function writeSnippet(language: SnippetLanguage, request: SnippetRequest): string {
  return writers[language](planSnippet(request))
}
