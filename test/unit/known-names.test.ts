/** The name that a caller is likely to have meant. */
import { describe, expect, test } from 'vitest'
import { nearestName } from '../../src/known-names.ts'

const KNOWN = ['kind', 'deadline', 'minerId', 'partitionIndex', 'sectors', 'commR', 'commD']

describe('the name nearest to one that is unknown', () => {
  test.each([
    ['a letter too few', 'deadlin', 'deadline'],
    ['a letter too many', 'deaddline', 'deadline'],
    ['another letter', 'deedline', 'deadline'],
    ['two letters in the other order', 'daedline', 'deadline'],
    ['other case', 'MinerID', 'minerId'],
    ['underscores', 'partition_index', 'partitionIndex'],
    ['three letters too few', 'deadl', undefined],
    ['a word more', 'sectorSize', undefined],
    ['as near to two: the first', 'commX', 'commR'],
    ['a third of a short name at most', 'mine', undefined],
    ['nothing', '', undefined],
    ['a megabyte', 'deadline'.repeat(2 ** 17), undefined],
  ])('%s: %#', (_, unknown, nearest) => {
    expect(nearestName(unknown, KNOWN)).toBe(nearest)
  })
})
