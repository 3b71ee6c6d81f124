import { Code, Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useTexts } from '../../texts/settings.tsx'
import { isMasked, pathId, shortId } from './identifier.ts'

interface CallerLinkProps {
  readonly kind: string
  readonly id: string
}

/** A caller by kind and id, with the way to its page; a masked one has none. */
export function CallerLink({ kind, id }: CallerLinkProps) {
  const t = useTexts()
  return (
    <Group gap={6} align="baseline" className="id">
      <Code className="kind">{kindName(t.callers.kinds, kind)}</Code>
      {isMasked(id, kind) ? (
        <Text size="sm" c="dimmed" title={t.callers.masked}>
          {id}
        </Text>
      ) : (
        <Link to="/limits/callers/$kind/$id" params={{ kind, id: pathId(id, kind) }} title={id}>
          {shortId(id)}
        </Link>
      )}
    </Group>
  )
}

/** The name of a kind of callers; those of attempt limits have none. */
export function kindName(names: Readonly<Record<string, string>>, kind: string): string {
  return names[kind] ?? kind
}
