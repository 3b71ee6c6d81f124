import { Group, Stack, Tabs, Title } from '@mantine/core'
import { useState } from 'react'
import { CopyText } from '../../../parts/values/copy-button.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { callOfDraft, type SendDraft } from './draft.ts'
import { type SnippetLanguage, snippetLanguages, snippetOf } from './snippets.ts'

/** The call of what is written, as code. */
export function Snippet({ draft }: { draft: SendDraft }) {
  const t = useTexts()
  const [language, setLanguage] = useState<SnippetLanguage>('curl')
  const call = callOfDraft(draft)
  if (call === undefined || draft.mode === 'bulk') return null
  const code = snippetOf(language, call)
  return (
    <Stack component="section" className="panel" gap="sm">
      <Group justify="space-between">
        <Title order={2}>{t.send.snippet}</Title>
        <CopyText text={code} label={t.send.copy} size="xs" />
      </Group>
      <Tabs value={language} onChange={(next) => setLanguage(next as SnippetLanguage)}>
        <Tabs.List>
          {snippetLanguages.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippetLanguages.map((name) => (
          <Tabs.Panel key={name} value={name} pt="xs">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
            <section className="json" tabIndex={0} aria-label={name}>
              <pre>{code}</pre>
            </section>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  )
}
