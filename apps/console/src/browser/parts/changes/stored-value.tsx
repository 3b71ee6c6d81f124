import { useTexts } from '../../texts/settings.tsx'

/** A member of something stored, in words: an array line by line. */
export function StoredValue({ value }: { value: unknown }) {
  const t = useTexts()
  if (typeof value === 'boolean') return value ? t.common.yes : t.common.no
  const lines = (Array.isArray(value) ? value : [value ?? '']).map(textOf)
  const text = lines.join('\n')
  return text === '' ? <span className="dim">{t.common.none}</span> : <span className="lines">{text}</span>
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
