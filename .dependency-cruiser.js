/**
 * The import order of docs/architecture.md, checked: a folder imports from those below it and from the leaves only; nothing
 * imports in a circle; the pure folders do no I/O and start no threads; what ships imports no development dependency.
 */

/** From top to bottom. An entry is a folder or a file of `src/`. */
const LAYERS = [
  'cli/',
  'index.ts',
  'integrations/',
  'engine.ts',
  'engine-parts.ts',
  'verify-proof.ts',
  'cuzk-status.ts',
  'status.ts',
  'queue/',
  'request/',
  'budget/',
  'synthesis/',
  'srs/',
  'device/',
  'webgpu/',
  'cpu/',
  'groth16/',
  'params/',
  'circuit/',
  'curve/',
  'field/',
]
const LEAVES = ['errors.ts', 'logger.ts', 'events.ts', 'options.ts', 'option-values.ts', 'known-names.ts', 'version.ts']
const PURE = ['circuit/', 'curve/', 'field/']

const quote = (path) => path.replaceAll('.', '\\.')
const pattern = (paths) => `^src/(${paths.map(quote).join('|')})`

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'Circular imports make the order of evaluation an accident.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...LAYERS.slice(1).map((layer, index) => ({
      name: `layer-${layer.replace(/\/$|\.ts$/, '')}`,
      comment: `${layer} imports from the layers below it only`,
      severity: 'error',
      from: { path: pattern([layer]) },
      to: { path: pattern(LAYERS.slice(0, index + 1)) },
    })),
    {
      name: 'leaves',
      comment: 'Any folder may import the leaves, so they import nothing but each other and names of circuits.',
      severity: 'error',
      from: { path: pattern(LEAVES) },
      to: { path: '^src/', pathNot: [pattern(LEAVES), '^src/circuit/circuit-id\\.ts$'] },
    },
    {
      name: 'pure',
      comment: 'No I/O and no threads: what they need of either is given to them as an argument.',
      severity: 'error',
      from: { path: pattern(PURE) },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'known-folder',
      comment: 'A new folder needs a place in the order.',
      severity: 'error',
      from: {},
      to: { path: '^src/', pathNot: pattern([...LAYERS, ...LEAVES]) },
    },
    {
      name: 'ships-without-development-dependencies',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cpu/assembly/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only', 'npm-peer'] },
    },
    {
      name: 'sources-of-assembly-stay-apart',
      comment: 'What generates WebAssembly runs at build time and is not in dist/.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cpu/assembly/' },
      to: { path: '^src/cpu/assembly/' },
    },
    { name: 'resolvable', severity: 'error', from: { path: '^src/' }, to: { couldNotResolve: true } },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^src/cpu/assembly/circuit/' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'types', 'default'] },
  },
}
