import { Text } from '@mantine/core'
import { useTexts } from '../../../texts/settings.tsx'
import { compareLines } from './difference.ts'

const signs = { same: ' ', removed: '−', added: '+' } as const

/** The lines that differ between two texts, with those around them. */
export function DifferenceView({ label, from, to }: { label: string; from: string; to: string }) {
  const t = useTexts()
  const lines = compareLines(from, to)
  if (lines.every(({ kind }) => kind === 'same')) return <Text c="dimmed">{t.editor.noDifference}</Text>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard
    <section className="difference" aria-label={label} tabIndex={0}>
      {lines.map(({ kind, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity, and never move
        <div key={index} className={kind}>
          <span aria-hidden="true">{signs[kind]}</span>
          {kind !== 'same' && <span className="visually-hidden">{t.editor[kind]}</span>}
          <span>{text === '' ? '\u00a0' : text}</span>
        </div>
      ))}
    </section>
  )
}
