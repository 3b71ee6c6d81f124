import { Text } from '@mantine/core'
import { useTexts } from '../../texts/settings.tsx'
import { othersOf, type Shares } from './figures.ts'
import { useNumber } from './parts.tsx'

/** Says under a list that not every row has its own figure, and how much the others make together. */
export function OthersNote({ shares }: { shares: Shares }) {
  const t = useTexts()
  const number = useNumber()
  const others = othersOf(shares)
  if (others === undefined) return null
  return (
    <Text size="sm" c="dimmed" role="note">
      {t.figures.others(number(shares.size - 1), number(others.count))}
    </Text>
  )
}
