import { NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { keyVariable, type SnippetRequest, secretVariable } from '../../snippets/plan.ts'
import { type SnippetLanguage, snippetLanguages, writeSnippet } from '../../snippets/snippet.ts'
import { useTexts } from '../../texts/settings.tsx'
import { Id } from './values.tsx'

/** A small program in the language of choice. Secrets are not in it: it says where to put them. */
export function Snippet({ request }: { request: SnippetRequest }) {
  const t = useTexts()
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  const text = writeSnippet(language, request)
  const variable = request.credential.kind === 'client' ? secretVariable : keyVariable
  return (
    <Stack gap="xs">
      <NativeSelect
        label={t.snippet.language}
        data={[...snippetLanguages]}
        value={language}
        onChange={(event) => setLanguage(event.currentTarget.value as SnippetLanguage)}
        w={180}
      />
      <Text size="sm" c="dimmed">
        {t.snippet.environment(variable)}
      </Text>
      <Id value={text} label={language}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
        <section className="json snippet" tabIndex={0} aria-label={language}>
          <pre>{text}</pre>
        </section>
      </Id>
    </Stack>
  )
}
